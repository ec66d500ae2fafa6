"""Reports from people's own devices: what a client in any language must compute, and the collector of reports.

fingerprint     name of a mechanism in reports, and ids of reports
vectors         known answers for clients in other languages, made by one script
"""

from versadp.devices.fingerprint import fingerprint, report_id

__all__ = ["fingerprint", "report_id"]
