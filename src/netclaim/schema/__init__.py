"""What an API server checks of an object before it stores it, and how it refuses.

    kinds      which kinds there are, and under which paths
    shapes     the fields of each kind
    defaults   what the server writes into objects itself
    review     all rules for an object, by its kind
    rules      the rules themselves
    refusal    faults, and the answers that refuse a request
    selector   label and field selectors
    network_service  what a Service says of the network that it is for
    annotated  which pods' annotations become claims

`tests/cluster/test_local_api.py` compares all this with a real server. No I/O: the server that uses
it is `local.api`.
"""
