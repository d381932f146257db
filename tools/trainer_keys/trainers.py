"""Which classes, functions and files of each trainer say the keys of its configuration files."""
import ast
import os
import re

from source import Package, default_of, parameters, short


def merged(*groups):
    out = {}
    for group in groups:
        for key, default in group.items():
            out.setdefault(key, default)
    return out


def of_classes(*names):
    """The fields of classes: ("FILE", "CLASS")."""
    return lambda package: merged(*(package.fields(package.find_in(name, file)) for file, name in names))


def trl(package):
    """The arguments of all trainers and scripts: a file for another one than SFT is refused by what it is."""
    found = []
    for path, tree in package.files.items():
        folder, file = os.path.split(os.path.relpath(path, package.folder))
        config = folder == "trainer" and file.endswith("_config.py")
        for node in tree.body:
            script = folder == "scripts" and file != "vllm_serve.py" and getattr(node, "name", "").endswith("Arguments")
            if isinstance(node, ast.ClassDef) and (config or script):
                found.append((path, node))
    found.append(package.find_in("DatasetMixtureConfig", "scripts/utils.py"))
    found.sort(key=lambda each: each[1].name not in ("SFTConfig", "ModelConfig"))  # of two defaults theirs count
    return merged(*(package.fields(each, 0) for each in found))


def axolotl(package):
    """The schema and those of the plugins, as the plugins' `get_input_args` name them."""
    found = [package.find_in("AxolotlInputConfig", "utils/schemas/config.py")]
    for path, tree in package.files.items():
        if os.sep + "integrations" + os.sep not in path:
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef) and node.name == "get_input_args":
                names = [n.value for n in ast.walk(node) if isinstance(n, ast.Constant) and "." in str(n.value)]
                found += [package.classes[n.split(".")[-1]][0] for n in names if n.split(".")[-1] in package.classes]
    return merged(*(package.fields(each) for each in found))


def litgpt(package):
    """The arguments of its commands; those of a dataclass stand below the argument."""
    out = {}
    for file in ("finetune/lora.py", "finetune/full.py", "finetune/adapter.py", "finetune/adapter_v2.py", "pretrain.py"):
        function = next(n for n in ast.walk(package.tree(file)) if isinstance(n, ast.FunctionDef) and n.name == "setup")
        defaults, kinds = parameters(function)
        for name, default in defaults.items():
            inner = [package.find(kind, "") for kind in kinds[name] if kind.endswith(("Args", "Config"))]
            if name in ("train", "eval", "log", "model_config") and inner and inner[0]:
                below = package.fields(inner[0], 0)
                out = merged(out, {name: ""}, {f"{name}.{key}": value for key, value in below.items()})
            out.setdefault(name, default)
    return out


def top_keys(text):
    return re.findall(r"^([A-Za-z_]\w*):", text, re.MULTILINE)


def asked_of(tree, name):
    """Keys that code asks of `name`: name.key, name.get("key", default), name["key"]."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "get":
            if short(node.func.value) == name and node.args and isinstance(node.args[0], ast.Constant):
                yield node.args[0].value, short(node.args[1]) if len(node.args) > 1 else "None"
        elif isinstance(node, ast.Attribute) and short(node.value) == name and node.attr not in ("get", "items", "keys"):
            yield node.attr, ""
        elif isinstance(node, ast.Subscript) and short(node.value) == name and isinstance(node.slice, ast.Constant):
            yield str(node.slice.value), ""


def torchtune(package):
    """What recipes ask of their file and what the shipped files hold; arguments of networks, tokenizers and losses."""
    recipes = os.path.join(os.path.dirname(package.folder), "recipes")
    out = {}
    for root, _, files in sorted(os.walk(recipes)):
        for file in sorted(files):
            with open(os.path.join(root, file), encoding="utf-8") as stream:
                text = stream.read()
            if file.endswith(".py"):
                out = merged(out, dict(asked_of(ast.parse(text), "cfg")))
            elif file.endswith(".yaml"):
                out = merged(out, dict.fromkeys(top_keys(text), ""))
    for path, tree in package.files.items():
        for part, folder, file in (("model", "models", "_model_builders.py"), ("model", "models", "_component_builders.py"),
                                   ("dataset", "datasets", ""), ("loss", os.path.join("modules", "loss"), "")):
            if os.path.join("torchtune", folder) + os.sep not in path or not path.endswith(file):
                continue
            for node in tree.body:
                init = [n for n in getattr(node, "body", []) if isinstance(n, ast.FunctionDef) and n.name == "__init__"]
                function = node if isinstance(node, ast.FunctionDef) else init[0] if part == "loss" and init else None
                public = function is not None and not node.name.startswith("_") and "tokenizer" not in node.name
                if public:
                    out = merged(out, {f"{part}.{key}": value for key, value in parameters(function)[0].items()})
    return out


def strings(tree):
    """{NAME: "text"} of a module's constants."""
    out = {}
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            if isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
                out[node.targets[0].id] = node.value.value
    return out


def deepspeed(package):
    """What is asked of the configuration anywhere, and the schema of `zero_optimization`."""
    constants = {}
    for path, tree in package.files.items():
        if path.endswith(("constants.py", os.path.join("runtime", "config.py"))):
            constants = merged(constants, strings(tree))
    text = lambda node: node.value if isinstance(node, ast.Constant) else constants.get(short(node).split(".")[-1])
    out = {}
    for node in ast.walk(package.tree("runtime/config.py")):
        key = None
        if isinstance(node, ast.Call) and short(node.func) == "get_scalar_param" and short(node.args[0]) == "param_dict":
            key = text(node.args[1])
            if key:
                out.setdefault(key, short(node.args[2]))
        elif isinstance(node, ast.Call) and short(node.func) == "param_dict.get":
            key = text(node.args[0])
        elif isinstance(node, ast.Compare) and short(node.comparators[0]) in ("param_dict", "param_dict.keys()"):
            key = text(node.left)
        elif isinstance(node, ast.Subscript) and short(node.value) == "param_dict":
            key = text(node.slice)
        if isinstance(key, str):
            out.setdefault(key, "")
    for file in ("monitor/config.py", "comm/config.py"):
        for node in ast.walk(package.tree(file)):
            if isinstance(node, ast.Call) and short(node.func) == "param_dict.get":
                out.setdefault(text(node.args[0]), "")
    below = package.fields(package.find_in("DeepSpeedZeroConfig", "runtime/zero/config.py"))
    out = {key: default for key, default in out.items() if isinstance(key, str)}
    return merged(out, {"zero_optimization." + key: value for key, value in below.items()})


def accelerate(package):
    """The file of `accelerate config`, with what its dialogue writes below."""
    found = [package.find_in(name, "commands/config/config_args.py") for name in ("ClusterConfig", "SageMakerConfig")]
    out = merged(*(package.fields(each, 0) for each in found))
    names = [key for key in out if key.endswith("_config")]
    for file in ("commands/config/cluster.py", "commands/config/default.py", "utils/launch.py"):
        for name in names:
            prefix = {"parallelism_config": "parallelism_config_", "fsdp_config": "fsdp_"}.get(name, "")
            for key, _ in asked_of(package.tree(file), name):
                if key not in ("pop", "update", "values"):
                    out.setdefault(f"{name}.{key}", "")
            for key, _ in asked_of(package.tree(file), "args") if file.endswith("launch.py") else ():
                if prefix and key.startswith(prefix):
                    out.setdefault(f"{name}.{key}", "")
    return out


# name of the list: (package, package on the index, how its keys are found)
TRAINERS = {
    "accelerate": ("accelerate", "accelerate", accelerate),
    "axolotl": ("axolotl", "axolotl", axolotl),
    "deepspeed": ("deepspeed", "deepspeed", deepspeed),
    "litgpt": ("litgpt", "litgpt", litgpt),
    "llama-factory": ("llamafactory", "llamafactory", of_classes(
        ("hparams/model_args.py", "ModelArguments"), ("hparams/data_args.py", "DataArguments"),
        ("hparams/training_args.py", "TrainingArguments"), ("hparams/finetuning_args.py", "FinetuningArguments"),
        ("hparams/generating_args.py", "GeneratingArguments"))),
    "ms-swift": ("swift", "ms_swift", of_classes(
        ("arguments/sft_args.py", "SftArguments"), ("arguments/pretrain_args.py", "PretrainArguments"),
        ("arguments/rlhf_args.py", "RLHFArguments"))),
    "peft-adapter": ("peft", "peft", of_classes(("tuners/lora/config.py", "LoraConfig"))),
    "torchtune": ("torchtune", "torchtune", torchtune),
    "training-args": ("transformers", "transformers", of_classes(("training_args.py", "TrainingArguments"))),
    "trl": ("trl", "trl", trl),
    "unsloth-studio": ("unsloth_cli", "unsloth", of_classes(("config.py", "Config"))),
}
