"""Links from docs to other files of the repository lead to the repository, since the site has docs alone."""
from __future__ import annotations

import posixpath
import re
from typing import Any


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    folder = posixpath.join("docs", posixpath.dirname(page.file.src_uri))

    def there(link: re.Match[str]) -> str:
        path = posixpath.normpath(posixpath.join(folder, link[1]))
        return link[0] if path.startswith("docs/") else f"]({config.repo_url}/blob/main/{path})"

    return re.sub(r"\]\((\.\./[^)\s]+)\)", there, markdown)
