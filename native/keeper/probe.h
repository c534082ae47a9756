/* Kubelet's probes of the driver and of the controller. */
#ifndef NETCLAIM_PROBE_H
#define NETCLAIM_PROBE_H

/* Ask it for `healthz` or `readyz`; returns the exit code: 0, 1 with a reason, 2 if misused. */
int probe(const char *what);

#endif
