"""A configuration's network from the recording of its type, as the recorder would record it. Needs nothing but Python; src/spec/network/type does the same."""
from __future__ import annotations

import ast
import json
import re
from typing import Any

from .kinds import at_ends, by_letters, layers_listed, sizes_of_kinds, state_among
from .parts import flattened
from .sharing import rope_not_known, state_of, with_roles, with_sparsity
from .trees import moved, name_of_row

LAYERS = "the layers"
ROPE_TYPE = "rope_type"
EQUAL_HEADS = "num_key_value_heads == num_attention_heads"


class NotKnown(Exception):
    """A key of the configuration has a value that the recording does not cover."""


# The configuration

def same(a: Any, b: Any) -> bool:
    """As JSON: true is no number."""
    return a == b and isinstance(a, bool) == isinstance(b, bool)


def same_entries(a: Any, b: Any) -> bool:
    """The same, or of a part every entry that is there."""
    if isinstance(a, dict) and isinstance(b, dict):
        return all(k in b and same(v, b[k]) for k, v in a.items())
    return same(a, b)


def is_number(x: Any) -> bool:
    return isinstance(x, (int, float)) and not isinstance(x, bool)


class Config:
    """What a config.json says by the keys of a type: numbers, and the state of each choice."""

    def __init__(self, type_: dict[str, Any], given: dict[str, Any]) -> None:
        self.type, self.given = type_, flattened(type_["parts"], given) if "parts" in type_ else given
        for part in type_.get("given_parts", []):
            if given.get(part) is None:
                raise NotKnown(f"{part}: the part is missing")
        self.values: dict[str, Any] = {}
        self.chosen: dict[str, Any] = {}
        self.read_layers()
        for row in type_["keys"]:
            self.read(row)
        if "sizes" in type_["layers"]:
            self.read_sizes(type_["layers"]["sizes"])
        if "rope_of_kinds" in type_:
            if problem := rope_not_known(type_["rope_of_kinds"], self.given, type_.get("rope_beside", [])):
                raise NotKnown(problem)
        if ROPE_TYPE in type_["choices"]:
            self.read_rope(type_["rope"])
        if EQUAL_HEADS in type_["choices"]:
            self.chosen[EQUAL_HEADS] = self.values["num_key_value_heads"] == self.values[type_["heads"]]
        for less, more in type_.get("fewer", []):
            if less in self.values and (self.values[less] >= self.values[more] or self.values[more] % self.values[less]):
                raise NotKnown(f"{less}: {self.values[less]} of {self.values[more]}")
        for more, less in type_.get("pairs", []):
            if self.values[more] % self.values[less]:
                raise NotKnown(f"{more}: {self.values[less]} does not divide {self.values[more]}")
            self.chosen[f"{more} == {less}"] = self.values[more] == self.values[less]

    def value(self, row: dict[str, Any]) -> Any:
        key = row["also"] if row.get("also") in self.given else row["key"]
        if key in self.given and not (self.given[key] is None and row.get("null")):
            return self.of_each(self.given[key]) if row.get("each") else self.given[key]
        if "default" not in row:
            raise NotKnown(f"{key}: the key is missing")
        default = row["default"]
        return folded(default[1:], self.values) if isinstance(default, str) and default.startswith("=") else default

    def of_each(self, value: Any) -> Any:
        """A list with the same for each layer says as much as one for all."""
        alike = isinstance(value, list) and len(value) == len(self.kinds) and all(same(x, value[0]) for x in value)
        return value[0] if alike else value

    def read(self, row: dict[str, Any]) -> None:
        key = row["key"]
        if "equal" in row:
            value, wanted = self.given.get(key, row.get("default")), folded(row["equal"][1:], self.values)
            if value is not None and not same(value, wanted):
                raise NotKnown(f"{key}: {value}, recorded with {wanted}")
            return
        if "factors" in row:
            value = self.given.get(key)
            if value is not None and not (isinstance(value, list) and len(value) == row["factors"] and all(is_number(x) and x > 0 for x in value)):
                raise NotKnown(f"{key}: {value}, recorded with {row['factors']} factors")
            return
        if row.get("absent"):
            if self.given.get(key) is not None:
                raise NotKnown(f"{key}: given")
            return
        if "fixed" in row:
            if self.given.get(row.get("unless")) is not None:
                return
            if key in self.given and not same_entries(self.given[key], row["fixed"]):
                raise NotKnown(f"{key}: {self.given[key]}, recorded with {row['fixed']}")
            return
        if "when" in row and not self.values[row["when"]]:  # what it is then decides about nothing
            self.chosen |= {key: row["states"][-1]} if len(row["states"]) > 1 else {}
            return
        value = self.value(row)
        plain = [s for s in row["states"] if not isinstance(s, dict)]
        state = next((s for s in plain if same(s, value)), None)
        if state is None and not (value is None and None in plain):
            kind = next((s["varied"] for s in row["states"] if isinstance(s, dict)), None)
            if kind == "size":
                fits = isinstance(value, int) and not isinstance(value, bool) and value >= row.get("least", 1) and not (self.wants_power(row) and value & (value - 1))
            else:
                fits = kind == "real" and is_number(value) and value > 0
            if not fits:
                raise NotKnown(f"{key}: {value}, recorded with {row['states']}")
            state = {"varied": kind}
        self.values[key] = value
        if len(row["states"]) > 1:
            self.chosen[key] = state

    def wants_power(self, row: dict[str, Any]) -> bool:
        """A power of two alone, perhaps only where a switch is on."""
        return "power" in row and bool(self.given.get(row["where"]) if "where" in row else True)

    def read_layers(self) -> None:
        row = self.type["layers"]
        count = self.given.get(row["key"], row["default"] if "default" in row else layers_listed(row, self.given))
        if not isinstance(count, int) or isinstance(count, bool) or not 1 <= count <= row.get("most", count):
            raise NotKnown(f"{row['key']}: {count}")
        name = row.get("list", "layer_types")
        kinds = self.counted(row, count) if "count" in row else self.stepped(row, count) if "step" in row else self.listed(row, name, count) if "kinds" in row else [""] * count
        if "second" in row:
            second = row["second"]
            by_count = "count" in second and self.given.get(second.get("list")) is None
            ways = self.stepped(second, count) if "step" in second else self.counted(second, count) if by_count else self.listed(second, second["list"], count)
            kinds = [f"{way}+{kind}" for way, kind in zip(ways, kinds)]
        kinds = at_ends(row.get("ends", {}), kinds)
        for said in row.get("repeated", []):
            self.check_repeated(said, kinds)
        if "shared" in row:
            return self.share(row, kinds)
        state = state_among(kinds, row, self.type["choices"][LAYERS])
        if state not in self.type["choices"][LAYERS]:
            raise NotKnown(f"layer_types: {state}")
        self.kinds, self.chosen[LAYERS] = kinds, state
        self.values[row["key"]] = count

    def read_sizes(self, row: dict[str, Any]) -> None:
        """A size for each layer, which those of one attention share."""
        found = sizes_of_kinds(row, self.kinds, self.given, self.values.get(row["default"]))
        if isinstance(found, str):
            raise NotKnown(found)
        self.values |= found

    def share(self, row: dict[str, Any], kinds: list[str]) -> None:
        """The last layers take keys and values of others."""
        shared = self.given.get(row["shared"]["key"], row["shared"]["default"])
        if not isinstance(shared, int) or isinstance(shared, bool) or not 0 <= shared < len(kinds) - 2:
            raise NotKnown(f"{row['shared']['key']}: {shared}")
        self.kinds = with_roles(kinds, shared, "where_shared" in row["shared"])
        if sparsity := row["shared"].get("sparsity"):
            self.kinds = with_sparsity(sparsity, self.kinds, self.given.get(sparsity["key"]))
            if self.kinds is None:
                raise NotKnown(f"{sparsity['key']}: {self.given[sparsity['key']]}")
        state = state_of(self.kinds, self.type["choices"][LAYERS])
        if state is None:
            raise NotKnown(f"layer_types: {self.kinds}")
        self.chosen[LAYERS] = state
        self.values |= {row["key"]: len(kinds), row["shared"]["key"]: shared}

    def counted(self, row: dict[str, Any], count: int) -> list[str]:
        """The first kind of layer for so many, the second one behind them."""
        first = self.counted_by(row["count"], 0)
        return [row["kinds"][i >= first] for i in range(count)]

    def stepped(self, row: dict[str, Any], count: int) -> list[str]:
        """Every so manieth layer is of the second kind, the last of so many or the one that an offset says."""
        step = self.counted_by(row["step"], 1)
        offset = self.counted_by(row["step"]["offset"], 0) if "offset" in row["step"] else step - 1
        if offset >= step:
            raise NotKnown(f"{row['step']['offset']['key']}: {offset}")
        return [row["kinds"][i % step == offset] for i in range(count)]

    def counted_by(self, row: dict[str, Any], least: int) -> int:
        """The number that a key says, or its default."""
        number = self.given.get(row["key"], row["default"])
        if not isinstance(number, int) or isinstance(number, bool) or number < least:
            raise NotKnown(f"{row['key']}: {number}")
        self.values[row["key"]] = number
        return number

    def check_repeated(self, row: dict[str, Any], kinds: list[str]) -> None:
        """A key that says once more what the layers are."""
        value = self.given.get(row["key"])
        if value is None or (value == [] and row.get("empty")):
            return
        places = [i for i, kind in enumerate(kinds) if kind.split("+")[0] == row["places"]] if "places" in row else None
        wanted = places if places is not None else [row["pattern"][i % len(row["pattern"])] for i in range(len(kinds))]
        if not isinstance(value, list) or len(value) != len(wanted) or not all(map(same, value, wanted)):
            raise NotKnown(f"{row['key']}: {value}")

    def listed(self, row: dict[str, Any], name: str, count: int) -> list[str]:
        places = row.get("places")
        kinds = None if places and places["key"] == name else self.given.get(name)  # a key may have places and nothing else
        if kinds is None and places and self.given.get(places["key"]) is not None:
            kinds = [places["kind"] if i in self.given[places["key"]] else places["other"] for i in range(count)]
        if kinds is None and "letters" in row:
            kinds = by_letters(row["letters"], self.given)
        if kinds is None:
            if "pattern" not in row:
                raise NotKnown(f"{name}: the key is missing")
            begin, pattern = row.get("begin", []), row["pattern"]
            kinds = [*begin, *(pattern[i % len(pattern)] for i in range(count))][:count]
            kinds[-1] = row.get("last", kinds[-1])
        names = row.get("names", {})
        kinds = [names.get(kind, kind) for kind in kinds] if isinstance(kinds, list) else kinds
        if not isinstance(kinds, list) or len(kinds) != count or not set(kinds) <= set(row["kinds"]):
            raise NotKnown(f"{name}: {kinds}")
        return kinds

    def read_rope(self, rope: dict[str, Any]) -> None:
        """transformers 5.17.0 modeling_rope_utils.py, convert_rope_params_to_dict: rope_scaling goes before rope_parameters."""
        key = "rope_scaling" if self.given.get("rope_scaling") else "rope_parameters"
        entries = dict(self.given.get(key) or {})
        if key == "rope_parameters" and entries and not rope["parameters"]:
            raise NotKnown(f"{key}: given")
        state = entries.pop("rope_type", entries.get("type", "default"))
        entries.pop("type", None)
        known = rope["types"].get(state)
        if known is None or (state == "default" and self.given.get(key) and not rope["explicit"]):
            raise NotKnown(f"{key}.rope_type: {state}")
        for name in ("rope_theta", "partial_rotary_factor"):
            if name in self.given:
                entries[name] = self.given[name]
        for name, value in entries.items():
            if name == "partial_rotary_factor":
                if rope.get("partial") != value:
                    raise NotKnown(f"{name}: {value}, recorded with {rope.get('partial')}")
            elif name in rope.get("own", {}):
                if not same(value, rope["own"][name]):
                    raise NotKnown(f"{key}.{name}: {value}, recorded with {rope['own'][name]}")
            elif name != "rope_theta" and name not in known["needs"] + known["may"]:
                raise NotKnown(f"{key}.{name}: given")
            elif not is_number(value) or value <= 0:
                raise NotKnown(f"{key}.{name}: {value}")
        for name in known["needs"]:
            if name not in entries:
                raise NotKnown(f"{key}.{name}: the key is missing")
        self.chosen[ROPE_TYPE] = None if state == "default" else state
        self.values["rope_parameters"] = known["makes"]


# Formulas

Sum = dict[tuple[int, int], int]  # coefficients by powers of B and S


def folded(text: str, keys: dict[str, Any]) -> int | str:
    """A formula with the numbers of these keys: a number, or a sum of B and S as the recorder writes it."""
    try:
        terms = {k: v for k, v in _sum(ast.parse(text, mode="eval").body, keys).items() if v}
    except _Division:
        return re.sub(r"[a-z_][a-z_0-9]*", lambda m: str(keys[m[0]]), text)
    if set(terms) <= {(0, 0)}:
        return terms.get((0, 0), 0)
    out = ""
    for powers, n in sorted(terms.items(), reverse=True):
        name = "*".join(["B"] * powers[0] + ["S"] * powers[1])
        if not name:
            out += f"{n:+d}"
            continue
        term = name if n == 1 else f"-{name}" if n == -1 else f"{n}*{name}"
        out += term if not out or term.startswith("-") else f"+{term}"
    return out


class _Division(Exception):
    pass


def _sum(node: Any, keys: dict[str, Any]) -> Sum:
    if isinstance(node, ast.Constant):
        return {(0, 0): node.value}
    if isinstance(node, ast.Name):
        if node.id in ("B", "S"):
            return {(1, 0) if node.id == "B" else (0, 1): 1}
        if keys[node.id] is None:
            raise NotKnown(f"{node.id}: null")
        return {(0, 0): int(keys[node.id])}
    if isinstance(node, ast.UnaryOp):
        return {k: -v for k, v in _sum(node.operand, keys).items()}
    a, b = _sum(node.left, keys), _sum(node.right, keys)
    if isinstance(node.op, (ast.Add, ast.Sub)):
        sign = 1 if isinstance(node.op, ast.Add) else -1
        return {k: a.get(k, 0) + sign * b.get(k, 0) for k in {**a, **b}}
    if isinstance(node.op, ast.Mult):
        out: Sum = {}
        for (x, y), m in a.items():
            for (z, w), n in b.items():
                out[x + z, y + w] = out.get((x + z, y + w), 0) + m * n
        return out
    plain = set(a) | set(b) <= {(0, 0)}
    divisor = b.get((0, 0), 0)
    if set(b) <= {(0, 0)} and divisor > 0:
        if plain:
            n = a.get((0, 0), 0)
            return {(0, 0): n // divisor if isinstance(node.op, ast.FloorDiv) else n % divisor}
        if isinstance(node.op, ast.FloorDiv) and all(n % divisor == 0 for n in a.values()):
            return {k: n // divisor for k, n in a.items()}
    raise _Division


# The network

class Network:
    def __init__(self, type_: dict[str, Any], config: Config) -> None:
        self.type, self.config = type_, config
        self.kinds: dict[str, int] = {}
        self.programs: dict[str, int] = {}

    def document(self) -> dict[str, Any]:
        root = self.type["nodes"][self.type["root"]]
        below = root["below"]
        network = self.body(below["network"])
        for row in network.pop("conditions", []):
            self.condition(row, set())
        modules = self.kind(below["modules"])
        rows = [self.variant({**row, "program": self.program(below[name_of_row(row)], None)}) for row in self.body(self.type["root"])]
        return {"schema": "vramfit.network/1", "recorded_with": self.type["recorded_with"], "network": {**network, "config": self.settings()},
                "modules": [json.loads(k) for k in self.kinds], "root": modules, "ties": [self.tie(names) for names in self.body(below["ties"])],
                "programs": [json.loads(p) for p in self.programs], "variants": rows, "refused": []}

    def tie(self, names: list[str]) -> list[str]:
        """The names of one parameter, in all layers of a kind that share it, of which there have to be several."""
        found = re.fullmatch(r"(.*)\.\*([^.]*)\.(.*)", names[0])
        if not found:
            return names
        layers = [i for i, kind in enumerate(self.config.kinds) if kind == found[2]]
        if len(layers) < 2:
            raise NotKnown(f"{names[0]}: one layer alone shares with none")
        return [f"{found[1]}.{i}.{found[3]}" for i in layers]

    def settings(self) -> dict[str, Any]:
        return {k: v for k, v in {**self.config.given, **self.config.values}.items() if v is not None and k != "_name_or_path"}

    def body(self, number: int) -> Any:
        node = self.type["nodes"][number]
        if "by" not in node:
            return json.loads(json.dumps(self.type["bodies"][node["body"]]))
        wanted = [self.config.chosen[f] for f in node["by"]]
        for states, body in node["cases"]:
            if all(same(a, b) for a, b in zip(states, wanted)):
                return json.loads(json.dumps(self.type["bodies"][body]))
        raise NotKnown(f"{' and '.join(f'{f} {w}' for f, w in zip(node['by'], wanted))}: not recorded together")

    def kind(self, number: int) -> int:
        row, below = self.body(number), self.type["nodes"][number].get("below", {})
        children = row.pop("children", [])
        for key in ("parameters", "buffers"):
            for one in row.get(key, []):
                one[2] = [self.size(x) for x in one[2]]
        if children == "layers":
            row["children"] = [[str(i), self.kind(below[f"*{kind}"])] for i, kind in enumerate(self.config.kinds)]
        elif isinstance(children, str):
            row["children"] = [[str(i), self.kind(below["*"])] for i in range(self.size(children))]
        elif children:
            row["children"] = [[name, self.kind(below[name])] for name in children]
        return self.kinds.setdefault(json.dumps(row, separators=(",", ":")), len(self.kinds))

    def program(self, number: int, layer: int | None) -> int:
        row, below = self.body(number), self.type["nodes"][number].get("below", {})
        row["inputs"] = [[name, *self.result(r)] for name, *r in row["inputs"]]
        seen: set[str] = set()
        code: list[Any] = []
        back, each = 0, 0
        for one in map(self.written, row["code"]):
            if one[0] == "layers":
                back, p, each = self.layers(one, below, seen, code), one[1], one[2]
            elif one[0] == "end" and any(isinstance(n, list) for n in one[1]):
                by = [i * each for i in reversed(range(len(self.run())))]
                code.append(["end", [v for n in one[1] for v in ([m + b for b in by for m in n] if isinstance(n, list) else [n + back if n >= p else n])]])
            else:
                self.instruction(moved([one], back, p)[0] if back else one, layer, below, seen, code)
        row["code"] = code
        if back:
            row["outputs"] = moved(row["outputs"], back, p)
            if "keeps" in row:
                row["keeps"] = [k + back if k >= p else k for k in row["keeps"]]
        return self.programs.setdefault(json.dumps(row, separators=(",", ":")), len(self.programs))

    def written(self, one: Any) -> Any:
        """An instruction, which stands once in the type."""
        return self.type["instructions"][one] if isinstance(one, int) else one

    def run(self) -> list[tuple[int, str]]:
        """The layers that a row of text runs, with their kinds."""
        return [(i, kind) for i, kind in enumerate(self.config.kinds) if kind not in self.type["layers"].get("idle", [])]

    def layers(self, one: Any, below: Any, seen: set[str], code: list[Any]) -> int:
        """Appends what runs the layers; returns by how much the numbers of values behind it are higher."""
        _, p, c, first, middle, last = one
        run = self.run()
        n = len(run)
        for at, (i, kind) in enumerate(run):
            part = first if at == 0 else last if at == n - 1 else middle.get(kind)
            if part is None:
                raise NotKnown(f"layer_types: {kind} between others")
            for row in moved(list(map(self.written, part)), max(0, at - 1) * c, p):
                self.instruction(row, i, below, seen, code)
        return max(0, n - 2) * c

    def instruction(self, row: Any, layer: int | None, below: Any, seen: set[str], code: list[Any]) -> None:
        if row[0] == "if":
            self.condition(row, seen, code)
        elif row[0] == "call":
            code.append([*row[:2], self.argument(row[2], layer), self.argument(row[3], layer), [self.result(r) for r in row[4]], *row[5:]])
        elif row[0] == "end":
            code.append(row)
        elif row[0] == "repeat":
            code.append(self.repeated(row, layer, below))
        else:
            code.append([row[0], placed(row[1], layer), self.program(below[row[2]], layer), *row[3:]])

    def repeated(self, row: Any, layer: int | None, below: Any) -> Any:
        """A loop, whose rounds are instructions too."""
        rounds: list[list[Any]] = [[], []]
        for part, code in zip(row[4:6], rounds):
            for one in part:
                self.instruction(one, layer, below, set(), code)
        return ["repeat", self.size(row[1]), row[2], row[3], *rounds, *row[6:]]

    def condition(self, row: Any, seen: set[str], code: list[Any] | None = None) -> None:
        a, sign, b = self.compared(row[1])
        if isinstance(a, int) and isinstance(b, int):
            holds = {"<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b, "==": a == b, "!=": a != b}[sign]
            if holds is not row[2]:
                raise NotKnown(f"{row[1]}: the recording holds only where this is {str(row[2]).lower()}")
            return
        text = f"{a} {sign} {b}"
        if a != b and text not in seen and code is not None:
            seen.add(text)
            code.append(["if", text, row[2]])

    def variant(self, row: dict[str, Any]) -> dict[str, Any]:
        """With the number of the window that its rows reach, or do not."""
        when = row.get("when", {})
        if "sizes" not in when:
            return row
        a, sign, b = self.compared(when["sizes"])
        return {**row, "when": {**when, "sizes": f"{a} {sign} {b}"}}

    def compared(self, text: str) -> tuple[int | str, str, int | str]:
        """Two sizes with the numbers of the configuration, and the sign between them."""
        left, sign, right = text.split(" ")
        return folded(left, self.config.values), sign, folded(right, self.config.values)

    def size(self, x: Any) -> Any:
        if not isinstance(x, str) or not x.startswith("="):
            return x
        found = folded(x[1:], self.config.values)
        return found if isinstance(found, int) else f"={found}"

    def result(self, r: Any) -> Any:
        return [r[0], r[1], [self.size(x) for x in r[2]], *r[3:]] if len(r) > 1 else r

    def argument(self, x: Any, layer: int | None) -> Any:
        if x == "=layer":
            return layer
        if isinstance(x, str):
            return self.size(x) if x.startswith("=") else placed(x, layer) if x.startswith("@") else x
        if isinstance(x, list):
            return [self.argument(y, layer) for y in x]
        return {k: self.argument(v, layer) for k, v in x.items()} if isinstance(x, dict) else x


def placed(path: str, layer: int | None) -> str:
    return path if layer is None else path.replace("*", str(layer))


def instantiate(type_: dict[str, Any], config: dict[str, Any]) -> dict[str, Any]:
    """The document of a config.json. Raises NotKnown with the key that stands against it."""
    return Network(type_, Config(type_, config)).document()
