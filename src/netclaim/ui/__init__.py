"""`netclaim ui`: nodes, links, networks, claims and pods as a page in the browser.

    values      what the page is sent, piece by piece
    picture     a status as these pieces
    networks    which network each claim is on
    view        everything as it is at one moment, and what changed since another
    detail      one object in full: its YAML and its events
    reasons     why a pod waits: devices, conditions, how far off
    engine      the view as it is now, and who waits for the next
    sources     where the objects come from: a cluster, or files
    access      who may ask: the token, the host, headers of every answer
    answers     the page's files, the stream of changes and the questions
    server      the page of one person, over HTTP
    running     the server on a socket of this machine, until it is stopped
    shared      the page of many people, each with their own rights

The folder `page` has what the browser runs, as it is: no step builds it. Nothing here changes what
it looks at. It decides nothing either: `status` and `explain` do.
"""
