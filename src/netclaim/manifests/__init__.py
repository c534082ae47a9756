"""Manifests as users write them: files, documents, objects of every age, and changing their text.

    files          what `-f` names               documents      YAML and JSON with lines
    yaml_dialect   YAML as Kubernetes reads it   json_stream    several JSON values in a file
    fields         paths, and finding by them    json_only      what YAML has and JSON does not
    reading        files into objects            objects        an object, its lines, an index
    kinds          what is where, and who        finding        what is wrong, and where
    near           what may have been meant
    conversion     one version to another        legacy         versions that are gone
    migration      any version to one            remark         what does not survive it
    rewrite        change a text, keep the rest  upgrade        a whole file to another version

No network. Nothing here knows what an API server accepts: that is `schema`.
"""
