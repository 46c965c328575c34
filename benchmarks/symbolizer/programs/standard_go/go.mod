module standard

go 1.22
