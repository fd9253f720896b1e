"""What users mistype: mypy and pyright find one error in each line that is marked, and no other."""

import pmservice

pmservice.running(tokn="t")  # error
pmservice.create_app(strict="yes")  # error
pmservice.runing()  # error
with pmservice.running(token="t") as service:
    print(service.uri)  # error
