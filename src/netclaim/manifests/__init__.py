"""Manifests as users write them: files, documents, objects of every age, and changing their text.

    reading   files into objects           objects   an object, its lines, an index
    kinds     what each kind holds         fields    finding and changing fields by patterns
    finding   what is wrong, and where     near      which name may have been meant
    text      files, their documents, changing their text
    versions  the versions of resource.k8s.io, and conversion between them

No network. Nothing here knows what an API server accepts: that is `schema`.
"""
