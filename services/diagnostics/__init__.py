"""What the server side needs and may lack, for `fleetprof doctor`. Each subject is looked at by itself."""
