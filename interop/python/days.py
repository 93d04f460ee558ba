"""Prints the day that it is now in each of the zones that are named, by Python's calendar, as one object of JSON."""

import json
import sys
from datetime import datetime, timedelta, timezone
from zoneinfo import ZoneInfo


def day(now: datetime, zone: str) -> dict[str, str | int]:
    local = now.astimezone(ZoneInfo(zone))
    begin = local.replace(hour=0, minute=0, second=0, microsecond=0)
    start, end = (int((begin + timedelta(days=days)).timestamp()) for days in (0, 1))
    return {"date": local.date().isoformat(), "offset": local.isoformat()[-6:], "start": start, "end": end}


now = datetime.now(timezone.utc)
print(json.dumps({zone: day(now, zone) for zone in sys.argv[1:]}))
