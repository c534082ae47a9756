"""Which API server to talk to, and as whom.

config       find the cluster: a kubeconfig or a service account
kubeconfig   read kubeconfig files
credentials  tokens and client certificates, also those that rotate on disk
exec_plugin  credentials from a command
cluster      the value that comes out of it
tls          the TLS context made from it
"""
