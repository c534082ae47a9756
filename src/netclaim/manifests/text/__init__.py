"""Files, their documents with lines, and changing a document's text.

files          what `-f` names
documents      YAML and JSON with the line of every field
yaml_dialect   YAML as Kubernetes reads it
json_stream    several JSON values in a file
json_only      what YAML has and JSON lacks
comments       the comments of a YAML text
rewrite        changing a text and keeping the rest
in_front       putting new objects in front of a document
inner_text     a document in a string, with its lines
"""
