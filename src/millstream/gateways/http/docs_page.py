"""An OpenAPI document as one page to read: no script, nothing fetched from elsewhere."""

import json
from html import escape
from typing import Any, Final

POLICY: Final = {"content-security-policy": "default-src 'none'; style-src 'unsafe-inline'"}

_STYLE: Final = """
body{font:15px/1.5 system-ui,sans-serif;max-width:58rem;margin:2rem auto;padding:0 1rem;color:#222}
h2{margin-top:2.2rem;border-top:1px solid #ddd;padding-top:1rem;font-size:1.05rem}
code,pre{font:13px/1.45 ui-monospace,monospace;background:#f5f5f3;border-radius:4px}
pre{padding:.7rem;overflow-x:auto}code{padding:.1rem .3rem}
b.method{display:inline-block;min-width:3.8rem}td{padding:.15rem .9rem .15rem 0;vertical-align:top}
"""


def docs_page(spec: dict[str, Any]) -> str:
    info = spec["info"]
    parts = [
        "<!doctype html><html lang=en><meta charset=utf-8>",
        f"<title>{escape(info['title'])}</title><style>{_STYLE}</style>",
        f"<h1>{escape(info['title'])}</h1><p>{escape(info['description'])}</p>",
        "<p>The same for machines: <a href=openapi.json>openapi.json</a></p>",
    ]
    for path, methods in spec["paths"].items():
        for method, operation in methods.items():
            parts.append(_operation(path, method.upper(), operation))
    return "".join(parts)


def _operation(path: str, method: str, operation: dict[str, Any]) -> str:
    parts = [
        f"<h2><b class=method>{method}</b> <code>{escape(path)}</code></h2>",
        f"<p>{escape(operation['summary'])}</p>",
    ]
    if operation["parameters"]:
        rows = "".join(
            f"<tr><td><code>{escape(each['name'])}</code><td>{each['in']}<td>{escape(each['description'])}"
            for each in operation["parameters"]
        )
        parts.append(f"<table>{rows}</table>")
    parts.append(f"<pre>{escape(_curl(path, method, operation))}</pre>")
    answers = "".join(
        f"<tr><td>{status}<td>{escape(each['description'])}"
        for status, each in operation["responses"].items()
    )
    parts.append(f"<table>{answers}</table>")
    return "".join(parts)


def _curl(path: str, method: str, operation: dict[str, Any]) -> str:
    for each in operation["parameters"]:
        if each["in"] == "path":
            path = path.replace(f"{{{each['name']}}}", str(each.get("example", each["name"])))
    line = "curl" if method == "GET" else f"curl -X {method}"
    line += f" http://localhost:PORT{path}"
    body = operation.get("requestBody")
    if body is not None:
        example = body["content"]["application/json"].get("example", {})
        line += f" \\\n  -H 'content-type: application/json' \\\n  -d '{json.dumps(example)}'"
    return line
