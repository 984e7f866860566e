"""PyTorch's part in compare.sh: eager, two calls of scaled_dot_product_attention, and compiled."""
import os

import torch
from torch.nn.functional import scaled_dot_product_attention

from peer import Unsupported, attention_inputs, matmul_inputs, serve

torch.set_num_threads(int(os.environ['OMP_NUM_THREADS']))


def composition(hidden):
    def weights(q, k):
        scores = q @ k.mT / q.shape[-1] ** 0.5
        if hidden is not None:
            scores = scores.masked_fill(hidden, -torch.inf)
        return torch.softmax(scores, -1)

    def differential(q1, k1, q2, k2, value, coefficient):
        return (weights(q1, k1) - coefficient * weights(q2, k2)) @ value

    return differential, lambda q, k, value: weights(q, k) @ value


def sdpa(causal):
    def attend(q, k, value):
        return scaled_dot_product_attention(q, k, value, is_causal=causal)

    def differential(q1, k1, q2, k2, value, coefficient):
        return attend(q1, k1, value) - coefficient * attend(q2, k2, value)

    return differential, attend


def attention(request):
    inputs, seed = attention_inputs(request)
    t = request.shape[2]
    hidden = torch.ones(t, t, dtype=torch.bool).triu(1) if request.causal else None
    functions = sdpa(request.causal) if request.way == 'sdpa' else composition(hidden)
    function = functions[0 if request.op == 'differential_attention' else 1]
    if request.way == 'compile':
        # Without a reset, PyTorch stops compiling after eight shapes.
        torch._dynamo.reset()
        function = torch.compile(function, dynamic=False)
    return make(function, inputs, seed, request.gradient)


def make(function, inputs, seed, gradient):
    inputs = [torch.from_numpy(x) for x in inputs]
    seed = torch.from_numpy(seed)

    def forward():
        with torch.no_grad():
            return [function(*inputs)]

    def forward_and_gradient():
        variables = [x.detach().requires_grad_() for x in inputs]
        y = function(*variables)
        return [y.detach(), *torch.autograd.grad(y, variables, seed)]

    return forward_and_gradient if gradient else forward


CHAINS = {
    'chain_mul_constant': lambda y, x, c: y * c,
    'chain_add_constant': lambda y, x, c: y + c,
    'chain_mul_variable': lambda y, x, c: y * x,
    'chain_add_variable': lambda y, x, c: y + x,
}


def chain(request):
    dtype = getattr(torch, request.dtype)
    c = torch.full(request.shape, 1.0001, dtype=dtype)
    step = CHAINS[request.op]

    def function(x):
        y = x
        for _ in range(1000):
            y = step(y, x, c)
        return y

    one = torch.ones(request.shape, dtype=dtype).numpy()
    return make(function, [one], one, True)


def case(request):
    if request.op.endswith('attention'):
        return attention(request)
    if request.way != 'eager':
        raise Unsupported(f'{request.op} is measured eagerly only')
    if request.op == 'matmul':
        *inputs, seed = matmul_inputs(request)
        return make(torch.matmul, inputs, seed, request.gradient)
    return chain(request)


serve(f'PyTorch {torch.__version__}', case)
