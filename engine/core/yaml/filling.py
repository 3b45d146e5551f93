"""``$name`` in rule and knowledge files: replaced by the parameter of that name before the text is read as YAML."""

from __future__ import annotations

import re

from whichgpu.engine.core.errors import WhichgpuError


#: ``$name`` or ``${name}``; ``$schema=`` of the remark that editors read is none.
_NAMED = re.compile(rb"\$(?:\{([a-z][a-z0-9_]*)\}|([a-z][a-z0-9_]*)(?![a-z0-9_=]))")


def filled(content: bytes, name: str, error: type[WhichgpuError]) -> bytes:
    """The content with all parameters filled in; ``${name}`` as in a sentence, with commas between thousands.

    Raises:
        WhichgpuError: of class ``error``, with every name that no parameter has.
    """
    if b"$" not in content or not _NAMED.search(content):
        return content
    from whichgpu.engine.core.parameters import knowledge_in_use, unknown_parameter  # noqa: PLC0415  # It reads YAML.

    parameters = knowledge_in_use().parameters
    problems = []

    def number(match: re.Match[bytes]) -> bytes:
        asked = (match[1] or match[2]).decode()
        line = content.rfind(b"\n", 0, match.start()) + 1
        if asked not in parameters and content[line : match.start()].lstrip().startswith(b"#"):
            return match[0]
        if asked not in parameters:
            problems.append(unknown_parameter(asked, name, content.count(b"\n", 0, match.start()) + 1))
            return match[0]
        value = parameters[asked].value
        whole = int(value) if float(value).is_integer() else value
        return (f"{whole:,}" if match[1] else f"{whole}").encode()

    text = _NAMED.sub(number, content)
    if problems:
        raise error(problems)
    return text
