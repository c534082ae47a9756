"""Requests to rtnetlink, as bytes: links, addresses and routes, bridges, rules, traffic; RDMA."""
