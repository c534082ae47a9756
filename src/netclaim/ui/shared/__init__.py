"""The page in a cluster, for many people, each with the rights of their own token.

    viewers   what each token sees, as long as somebody looks
    server    the page and the questions, over HTTP or HTTPS

The process has no rights of its own: it mounts no token, and sends no request without a viewer's.
"""
