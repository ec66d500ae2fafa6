"""Reports from people's own devices: what a client in any language must compute, and the collector of reports.

fingerprint     name of a mechanism in reports, and ids of reports
client          report of one record, made in Python
vectors         known answers for clients in other languages, made by one script
collector       takes reports durably, each once, and releases them when a round is closed
endpoint        the same over HTTP
"""

from versadp.devices.client import make_report
from versadp.devices.collector import Collector
from versadp.devices.fingerprint import fingerprint, report_id
from versadp.devices.server import serve
from versadp.devices.statement import forged_shift
from versadp.devices.web_endpoint import Limits, endpoint

__all__ = [
    "Collector",
    "Limits",
    "endpoint",
    "fingerprint",
    "forged_shift",
    "make_report",
    "report_id",
    "serve",
]
