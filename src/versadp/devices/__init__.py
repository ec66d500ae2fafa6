"""Reports from people's own devices: what a client in any language must compute, and the collector of reports.

fingerprint     name of a mechanism in reports, and ids of reports
vectors         known answers for clients in other languages, made by one script
collector       takes reports durably, each once, and releases them when a round is closed
endpoint        the same over HTTP
"""

from versadp.devices.collector import Collector
from versadp.devices.fingerprint import fingerprint, report_id
from versadp.devices.reports import report_line
from versadp.devices.statement import forged_shift

__all__ = ["Collector", "fingerprint", "forged_shift", "report_id", "report_line"]
