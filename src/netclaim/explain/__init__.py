"""Why claims get their devices, or why not.

    files, cluster   what there is               world             what decides about claims
    names, subject   what is asked about         answer            for each subject
    cause, why       in words                    lines, show       a table, or JSON
    hints            how to mend it              mistakes          in the parameters

Only looks, at files and at a cluster.
"""
