#!/bin/sh
#PBS -N ring -j oe -l nodes=2:ppn=2:e,walltime=5:00
shunt launch --label hostname
sleep 4
