#!/bin/sh
#PBS -N sum
#PBS -l walltime=1:00
#PBS -j oe
cat result.* | awk '{ sum += $1 } END { print "the sum is", sum }'
