#!/bin/sh
#PBS -N hello
#PBS -l nodes=1:ppn=1,walltime=1:00
#PBS -j oe
# A first job. What it prints goes to hello.oNUMBER in the directory it was submitted from.
echo "Hello from job $PBS_JOBID on $(hostname), $PBS_NP CPU, queue $PBS_QUEUE."
