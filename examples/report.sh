#!/bin/sh
#PBS -N report
#PBS -l nodes=2:ppn=4,walltime=10:00
#PBS -j oe
echo "the report is done"
