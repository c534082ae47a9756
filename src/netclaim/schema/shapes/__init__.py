"""The fields that objects of each kind have, and whether an object fits them.

    read     the shape of a kind, from the tables
    shape    what a shape is, and fitting a value to it
    *.yaml   the tables: the fields of each kind

An entry of a table is the shape of a kind (`Pod`), of a kind in an older version
(`ResourceSlice/v1beta1`), or of a part that others name (`PodSpec`):

    path type: text          fields of a plain type (`shape.Scalar`), in the order of the API
    taint: Taint             a field with the shape of another entry
    taints: [Taint]          a list
    labels: {"*": text}      a map, whose keys are the user's own
    pool: {name: text}       an object with these fields, also written over several lines
    status: anything         an object whose fields are not known
    ...: Device              the fields of another entry, as if they stood here; a field that is
                             written again below takes the place of the other's
"""
