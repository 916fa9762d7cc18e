"""Writes docs/reference from the code: `make reference`. A test compares the pages with the code.

cli.md   every verb of the command line, its arguments and options, from Typer
api.md   every public name of `shredlake` and `shredlake.spark`, with signature and docstring
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from types import ModuleType
from typing import Any, Final, Literal, get_args, get_origin, get_type_hints

import shredlake
from shredlake.cli.app import EXAMPLES, VERBS, function_of, load

FOLDER: Final = Path(__file__).parents[1] / "docs" / "reference"
MADE: Final = "This page is generated from the code by `make reference`.\n"


def cli_page() -> str:
    """The page of the command line."""
    parts = [
        "# CLI reference\n",
        f"{MADE}\n`shredlake VERB -h` shows the same. Pipes, formats and exit codes are on "
        "[the command line](../command-line.md).\n",
    ]
    for verb, (_, summary) in sorted(VERBS.items()):
        command, types = load(verb), get_type_hints(function_of(verb))
        arguments = [one for one in command.params if one.param_type_name == "argument"]
        options = [one for one in command.params if one.param_type_name == "option"]
        words = " ".join(one.metavar if one.required else f"[{one.metavar}]" for one in arguments)
        parts.append(
            f"## {verb}\n\n{summary}\n\n```\nshredlake {verb} {words} [OPTIONS]\n{EXAMPLES[verb]}\n```\n"
        )
        rows = [f"| `{one.metavar}` | {cell(one.help)} | |" for one in arguments]
        rows += [f"| {names(one, types[one.name])} | {cell(one.help)} | {default(one)} |" for one in options]
        if rows:
            parts.append("| | | default |\n|---|---|---|\n" + "\n".join(rows) + "\n")
    return "\n".join(parts)


def names(option: Any, kind: Any) -> str:
    """The spellings of an option, with the values it takes if they are a list."""
    value = f" {option.metavar}" if option.metavar else ""
    spellings = ", ".join(f"`{name}{value}`" for name in (*option.opts, *option.secondary_opts))
    kinds = [kind, *get_args(kind)]
    choices = [str(value) for one in kinds if get_origin(one) is Literal for value in get_args(one)]
    return f"{spellings}: {', '.join(choices)}" if choices else spellings


def default(option: Any) -> str:
    """The default of an option, where it says something."""
    value = option.default
    if callable(value) or value is None or isinstance(value, bool) or value in ("", [], ()):
        return ""
    if type(value).__module__.startswith(("click", "typer")):  # a marker for "not set"
        return ""
    return f"`{value.value if isinstance(value, Enum) else value}`"


def cell(text: str | None) -> str:
    """A text for one cell of a table."""
    return re.sub(r"\s+", " ", text or "").strip().replace("|", "\\|").replace("<", "&lt;")


def api_page() -> str:
    """The page of the Python names."""
    from shredlake import spark

    return "\n".join(
        [
            "# API reference\n",
            f"{MADE}\nEvery example is run as a test.\n",
            *module_parts(shredlake, "sl", "Python: `import shredlake as sl`"),
            *module_parts(spark, "sls", "Spark: `from shredlake import spark as sls`"),
        ]
    )


def module_parts(module: ModuleType, alias: str, title: str) -> Iterator[str]:
    """The functions, classes and errors of a module."""
    items = {name: getattr(module, name) for name in module.__all__}
    errors = {name for name, item in items.items() if isinstance(item, type) and issubclass(item, Exception)}
    yield f"## {title}\n"
    for name in sorted(set(items) - errors, key=lambda name: (isinstance(items[name], type), name.lower())):
        yield from item_parts(f"{alias}.{name}", items[name])
    if errors:
        yield "### Errors\n"
        yield "| error | is a | |\n|---|---|---|"
        for name in sorted(errors):
            base = items[name].__bases__[0].__name__
            yield f"| `{name}` | `{base}` | {cell(paragraphs(items[name])[0])} |"
        yield ""


def item_parts(name: str, item: Any) -> Iterator[str]:
    """A function or a class with its public methods."""
    yield f"### {name}\n"
    yield f"```text\n{signature(name, item)}\n```\n"
    yield markdown(inspect.getdoc(item) or "")
    if not isinstance(item, type) or issubclass(item, Enum):
        return
    for member, value in vars(item).items():
        if member.startswith("_"):
            continue
        function = getattr(value, "__func__", value)
        if inspect.isfunction(function) and inspect.getdoc(function):
            yield f"#### {name}.{member}\n"
            yield f"```text\n{signature(member, function)}\n```\n"
            yield markdown(inspect.getdoc(function) or "")
        elif isinstance(value, property) and inspect.getdoc(value):
            yield f"#### {name}.{member}\n"
            yield markdown(inspect.getdoc(value) or "")


def signature(name: str, item: Any) -> str:
    """The call of a function or class, one parameter per line if it is long."""
    if isinstance(item, type) and issubclass(item, Enum):
        return f"{name}(value)"
    try:
        found = inspect.signature(item)
    except (TypeError, ValueError):
        return name
    found = found.replace(
        parameters=[one.replace(annotation=_Plain.of(one.annotation)) for one in found.parameters.values()],
        return_annotation=_Plain.of(found.return_annotation),
    )
    text = _without_markers(f"{name}{found}")
    if len(text) <= 100:
        return text
    shown: list[str] = []
    keyword_only = False
    for parameter in found.parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY and not keyword_only:
            keyword_only = True
            shown.append("*")
        keyword_only |= parameter.kind is parameter.VAR_POSITIONAL
        shown.append(str(parameter))
    body = "".join(f"    {one},\n" for one in shown)
    result = "" if found.return_annotation is found.empty else f" -> {found.return_annotation!r}"
    return _without_markers(f"{name}(\n{body}){result}")


class _Plain(str):
    """An annotation that is shown without the quotes of a string."""

    def __repr__(self) -> str:
        return str(self).replace("'", "")

    @classmethod
    def of(cls, annotation: Any) -> Any:
        return cls(annotation) if isinstance(annotation, str) else annotation


def _without_markers(text: str) -> str:
    """Markers for "not given" have no spelling."""
    return re.sub(r"<(?:object object|factory)[^>]*>", "...", text)


def paragraphs(item: Any) -> list[str]:
    return (inspect.getdoc(item) or "").split("\n\n")


def markdown(text: str) -> str:
    """A docstring as Markdown: its examples and drawings become blocks of code."""
    parts = []
    fenced = False
    for part in text.split("\n\n"):
        fenced ^= part.count("```") % 2 == 1
        if fenced or "```" in part:
            parts.append(part)
        elif part.lstrip().startswith(">>>"):
            parts.append(f"```pycon\n{part}\n```")
        elif part.startswith("    "):
            parts.append(f"```text\n{part}\n```")
        else:
            parts.append(part.replace("<", "&lt;") if "`" not in part else part)
    return "\n\n".join(parts) + "\n"


PAGES: Final = {"cli.md": cli_page, "api.md": api_page}
"""The pages that this script makes."""

if __name__ == "__main__":
    for page, make in PAGES.items():
        (FOLDER / page).write_text(make())
