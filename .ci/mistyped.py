"""Calls with mistakes: mypy and pyright report an error for each marked line, and no other."""

import pmservice

pmservice.running(tokn="t")  # error
pmservice.create_app(demo="yes")  # error
pmservice.runing()  # error
with pmservice.running(token="t") as service:
    print(service.uri)  # error
    service.frezze("2026-01-05T09:00:00Z")  # error
    service.freeze(5)  # error
    service.advance("1 h")  # error
    print(service.call("GET", "/products").total)  # error
