"""The installed source of a package as syntax trees: classes by name, their fields with those of their bases."""
import ast
import os


def trees(folder):
    """(path, tree) of each Python file below a folder, in order of path."""
    for root, folders, files in os.walk(folder):
        folders.sort()
        for name in sorted(files):
            path = os.path.join(root, name)
            if name.endswith(".py"):
                with open(path, encoding="utf-8", errors="replace") as file:
                    try:
                        yield path, ast.parse(file.read())
                    except SyntaxError:  # templates of code
                        continue


def short(node):
    """A default as one short word."""
    text = "" if node is None else ast.unparse(node).replace("\n", " ")
    return text if len(text) <= 60 else text[:57] + "..."


def default_of(value):
    """What a field has where nothing is said; `Field(default=...)` and `field(default=...)` are looked into."""
    if not isinstance(value, ast.Call) or short(value.func).split(".")[-1] not in ("Field", "field", "deprecated_field"):
        return short(value)
    for keyword in value.keywords:
        if keyword.arg in ("default", "default_factory"):
            return short(keyword.value) + ("()" if keyword.arg == "default_factory" else "")
    return short(value.args[0]) if value.args else ""


def names_in(node):
    return [n.id for n in ast.walk(node) if isinstance(n, ast.Name)] if node is not None else []


def other_names(value):
    """Names besides its own under which pydantic takes a field."""
    if isinstance(value, ast.Call):
        for keyword in value.keywords:
            if keyword.arg in ("alias", "validation_alias"):
                yield from (n.value for n in ast.walk(keyword.value) if isinstance(n, ast.Constant))


class Package:
    """All classes of a package; of two with one name that in the asking file goes first, then the first."""

    def __init__(self, folder):
        self.folder = folder
        self.files = dict(trees(folder))
        self.classes = {}
        for path, tree in self.files.items():
            for node in ast.walk(tree):
                if isinstance(node, ast.ClassDef):
                    self.classes.setdefault(node.name, []).append((path, node))

    def tree(self, name):
        return self.files[os.path.join(self.folder, name)]

    def find(self, name, path):
        found = self.classes.get(name, [])
        return next((each for each in found if each[0] == path), found[0] if found else None)

    def find_in(self, name, file):
        path = os.path.join(self.folder, file)
        found = self.find(name, path)
        if found is None or found[0] != path:
            raise SystemExit(f"{path} has no class {name}: look where this release keeps it")
        return found

    def fields(self, found, depth=1):
        """{path: default} of a class: own fields and those of its bases, with those of nested classes below."""
        out, seen = {}, set()
        self._collect(found, "", depth, out, seen)
        return out

    def _collect(self, found, prefix, depth, out, seen):
        path, node = found
        if (path, node.name) in seen:
            return
        seen.add((path, node.name))
        for statement in node.body:
            if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
                self._field(statement, path, prefix, depth, out)
        for base in node.bases:
            inner = self.find(short(base).split(".")[-1], path)
            if inner:
                self._collect(inner, prefix, depth, out, seen)

    def _field(self, statement, path, prefix, depth, out):
        name, kind = statement.target.id, ast.unparse(statement.annotation)
        if name.startswith("__") or "ClassVar" in kind or "InitVar" in kind or "init=False" in short(statement.value):
            return
        out.setdefault(prefix + name, default_of(statement.value))
        for other in other_names(statement.value):
            out.setdefault(prefix + other, default_of(statement.value))
        if depth == 0 or "list[" in kind.lower() or "dict[" in kind.lower():
            return
        for word in names_in(statement.annotation):
            inner = self.find(word, path)
            if inner and any(isinstance(s, ast.AnnAssign) for s in inner[1].body):
                self._collect(inner, prefix + name + ".", depth - 1, out, set())


def parameters(function):
    """{name: default} of a function's arguments, and {name: names in its annotation}."""
    args = function.args
    plain = args.posonlyargs + args.args
    defaults = [None] * (len(plain) - len(args.defaults)) + args.defaults
    every = list(zip(plain, defaults)) + list(zip(args.kwonlyargs, args.kw_defaults))
    return ({a.arg: short(d) for a, d in every if a.arg not in ("self", "cls")},
            {a.arg: names_in(a.annotation) for a, _ in every})
