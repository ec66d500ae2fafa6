"""Reports from people's own devices: what a client in any language must compute, and the collector of reports.

fingerprint     name of a mechanism in reports, and ids of reports
client          report of one record, made in Python
vectors         known answers for clients in other languages, made by one script
"""

from versadp.devices.client import make_report
from versadp.devices.fingerprint import fingerprint, report_id

__all__ = ["fingerprint", "make_report", "report_id"]
