"""JAX's part in compare.sh: the composition and its vjp, under jit."""
import jax
import jax.numpy as jnp

from peer import attention_inputs, matmul_inputs, serve

jax.config.update('jax_enable_x64', True)


def weights(q, k, causal):
    scores = q @ k.mT / jnp.asarray(q.shape[-1] ** 0.5, q.dtype)
    if causal:
        t = q.shape[2]
        scores = jnp.where(jnp.tril(jnp.ones((t, t), bool)), scores, -jnp.inf)
    return jax.nn.softmax(scores, -1)


def function_of(request):
    def differential(q1, k1, q2, k2, value, coefficient):
        a1, a2 = weights(q1, k1, request.causal), weights(q2, k2, request.causal)
        return (a1 - coefficient * a2) @ value

    def attention(q, k, value):
        return weights(q, k, request.causal) @ value

    return {'differential_attention': differential, 'attention': attention,
            'matmul': jnp.matmul}[request.op]


def case(request):
    if request.op == 'matmul':
        *inputs, seed = matmul_inputs(request)
    else:
        inputs, seed = attention_inputs(request)
    inputs, seed = [jnp.asarray(x) for x in inputs], jnp.asarray(seed)
    function = function_of(request)

    @jax.jit
    def forward(seed, *inputs):
        return [function(*inputs)]

    @jax.jit
    def forward_and_gradient(seed, *inputs):
        y, pullback = jax.vjp(function, *inputs)
        return [y, *pullback(seed)]

    timed = forward_and_gradient if request.gradient else forward
    return lambda: jax.block_until_ready(timed(seed, *inputs))


serve(f'JAX {jax.__version__}', case)
