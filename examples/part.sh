#!/bin/sh
#PBS -N part
#PBS -l nodes=1:ppn=1,walltime=5:00
#PBS -j oe -o logs/
sleep 3
echo $((PBS_ARRAYID * PBS_ARRAYID)) >result.$PBS_ARRAYID
echo "part $PBS_ARRAYID is done"
