"""Attention on a card: whole batches of runs in one launch, large systems, studies measured where they are.

    device        whether there is a card, and how functions are compiled for it
    exponential   2^x on the card, in double and in single precision
    pair_sums     one token's sum over the tokens it sees, and its velocity
    token_steps   what a step does with one token
    step_loop     the loop over steps: one source for small and large systems
    fused         small systems: one block of threads carries one run to its end
    batch         runs in blocks, frames staged to the host, Ctrl-C, progress and time limits
    tile_sums     the sums of one large system, in low dimensions
    product_sums  the same in middle dimensions
    large_system  its velocities and steps
    card_frames   runs of a study, integrated and measured on the card

Tableau, controller and statuses are the CPU's own.  Nothing here is imported before device="gpu" is asked
for.

Numba CUDA was chosen over CUDA C: it is the language of the other kernels, and its simulator runs every line
where there is no card.  CUDA C was measured 14 % (d = 2) to 30 % (d = 3) faster.
"""
