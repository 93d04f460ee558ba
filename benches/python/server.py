"""The demo's `execute_sql` on the Python SDK, which compares `Mcp-Param-*` headers by itself."""

import sys
from typing import Annotated, Any

from mcp.server.mcpserver import MCPServer
from pydantic import Field

server = MCPServer("bench", log_level="ERROR")


@server.tool()
def execute_sql(
    query: str,
    region: Annotated[str, Field(json_schema_extra={"x-mcp-header": "Region"})],
    shard: Annotated[int, Field(json_schema_extra={"x-mcp-header": "Shard"})] = 0,
    dry_run: Annotated[bool, Field(json_schema_extra={"x-mcp-header": "Dry-Run"})] = False,
) -> dict[str, Any]:
    """Runs an SQL query on the bookings. The data are samples: every query gives the same rows."""
    rows = [] if dry_run else [[1, "Bern", 2, 318.0], [2, "Zurich", 1, 189.5], [3, "Zermatt", 4, 1240.0]]
    return {
        "region": region,
        "shard": shard,
        "dry_run": dry_run,
        "columns": ["id", "city", "nights", "price_chf"],
        "rows": rows,
        "row_count": len(rows),
    }


server.run("streamable-http", port=int(sys.argv[1]), json_response=True, stateless_http=True)
