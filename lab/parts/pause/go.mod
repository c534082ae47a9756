module netclaim.dev/lab/pause

go 1.26.0
