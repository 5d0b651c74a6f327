"""`crop bench`: instance sets under many solvers, compared with the optimum or the bound; gates for CI."""
