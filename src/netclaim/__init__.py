"""Network interfaces for Kubernetes pods through Dynamic Resource Allocation.

    framework    the reusable driver framework
    network      the network driver, built on it
    controller   the cluster's side: what becomes of PodNetworks
    plugins      CNI plugins that run in process
    model        the values that travel between them, and the API's objects
    errors       who must act when something fails
    paths        where in a document a field stands
    plain_text   text of others, shown so that nothing in it acts
    json_text    JSON of others, read whole or taken apart
    pauses       how long to wait after failures in a row

    kubelet, nri, cri, chained   how kubelet and the container runtime call
    cni, kernel, kube            CNI, the kernel and the API server, as we call them
    dhcp                         what a DHCP client says, and what it is told

    cli          the command `netclaim`
    ui           a page in the browser
    check, explain, status, doctor  what its commands find out
    convert      from Multus: networks and pods as claims
    local        the embedded cluster of `netclaim try` and `demo`
    allocator    allocation as kube-scheduler does it
    schema       what an API server accepts
    manifests    YAML and JSON files as objects, and their versions
    survey       the objects of a cluster or of files, read once or followed
    screen       tables and colour

    keeper       the process above the driver, which outlives it
    probe        the ping of `helm test`
    tasks        tasks that live as long as a block of code
    unix_socket  what listening sockets share

docs/architecture.md says which of them may import which.
"""

__version__ = "0.1.0"
