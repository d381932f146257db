"""The process that runs the libraries: started for one job, on the runtime without a device."""
