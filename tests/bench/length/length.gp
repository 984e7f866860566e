# gnuplot length.gp >length.svg, in the folder of length.csv
set encoding utf8
set terminal svg size 900,420 font "Helvetica,14" background "white"
set datafile separator ","
set multiplot layout 1,2 title "Differential attention forward and backward: 1 head, D = 64, causal, float"
set logscale xy
set xtics ("128" 128, "512" 512, "2048" 2048, "8192" 8192, "16384" 16384) rotate by 0
set xrange [100:20000]
set xlabel "T, tokens"
set grid back linecolor "#e0e0e0"
set border 3
set tics nomirror
set key top left Left reverse samplen 2
set style line 1 linecolor "#0072b2" linewidth 2 pointtype 7 pointsize 0.6
set style line 2 linecolor "#d55e00" linewidth 2 pointtype 5 pointsize 0.6
set ylabel "time (ms)"
plot "length.csv" skip 1 using (strcol(1) eq "fused" ? $8 : 1/0):5 with linespoints linestyle 1 title "fused", \
     "" skip 1 using (strcol(1) eq "composition" ? $8 : 1/0):5 with linespoints linestyle 2 title "composition"
set ylabel "peak memory (MiB)"
plot "length.csv" skip 1 using (strcol(1) eq "fused" ? $8 : 1/0):6 with linespoints linestyle 1 title "fused", \
     "" skip 1 using (strcol(1) eq "composition" ? $8 : 1/0):6 with linespoints linestyle 2 title "composition", \
     "" skip 1 using (strcol(1) eq "fused" ? $8 : 1/0):7 with lines linecolor "#999999" dashtype 2 title "inputs, output, gradients"
