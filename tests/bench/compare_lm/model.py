"""The model of demos/tiny_lm in PyTorch, which loads the files that tiny_lm writes.

Written for itself, from the paper and its own code (Ye et al., Differential Transformer, ICLR 2025):
that both give the same logits is a test of each.
"""
import json
import math

import torch
from safetensors import safe_open
from torch import nn
from torch.nn.functional import cross_entropy, scaled_dot_product_attention, silu


def rotated(x):
    """Rotary positions of adjacent pairs. x: [B, H, T, D]"""
    t, d = x.shape[-2:]
    angles = torch.outer(torch.arange(t, dtype=torch.float64),
                         1e4 ** (-torch.arange(0, d, 2, dtype=torch.float64) / d))
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack((a * cos - b * sin, a * sin + b * cos), -1).flatten(-2)


def attend(q, k, v, way):
    if way == 'sdpa':
        return scaled_dot_product_attention(q, k, v, is_causal=True)
    return maps(q, k) @ v


def maps(q, k):
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    hidden = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
    return scores.masked_fill(hidden, -math.inf).softmax(-1)


class Attention(nn.Module):
    def __init__(self, config, layer, way):
        super().__init__()
        c, self.heads = config['width'], config['heads']
        d = c // self.heads
        self.q, self.k, self.v, self.output = (nn.Linear(c, c, bias=False) for _ in range(4))
        self.differential = config['attention'] == 'differential'
        self.halves, self.way = config['pairing'] == 'halves', way
        self.lambda_init = 0.8 - 0.6 * math.exp(-0.3 * layer)
        if self.differential:
            for name in 'q1', 'k1', 'q2', 'k2':
                setattr(self, f'lambda_{name}', nn.Parameter(torch.zeros(d)))
        wide = 2 * d if self.differential else d
        self.head_norm = nn.RMSNorm(wide, eps=1e-5) if config['head_norm'] else None

    def pair(self, x):
        """[B, 2H, T, F] -> two of [B, H, T, F]"""
        return x.chunk(2, 1) if self.halves else (x[:, 0::2], x[:, 1::2])

    def forward(self, x):
        def heads(y):
            return y.unflatten(-1, (self.heads, -1)).transpose(1, 2)

        q, k, v = rotated(heads(self.q(x))), rotated(heads(self.k(x))), heads(self.v(x))
        if self.differential:
            lambda_ = (torch.exp(self.lambda_q1 @ self.lambda_k1)
                       - torch.exp(self.lambda_q2 @ self.lambda_k2) + self.lambda_init)
            (q1, q2), (k1, k2) = self.pair(q), self.pair(k)
            v = torch.cat(self.pair(v), -1)
            if self.way == 'sdpa':
                y = attend(q1, k1, v, self.way) - lambda_ * attend(q2, k2, v, self.way)
            else:
                y = (maps(q1, k1) - lambda_ * maps(q2, k2)) @ v
        else:
            y = attend(q, k, v, self.way)
        if self.head_norm is not None:
            y = self.head_norm(y) * (1 - self.lambda_init if self.differential else 1)
        return self.output(y.transpose(1, 2).flatten(-2))


class Mlp(nn.Module):
    def __init__(self, width, hidden):
        super().__init__()
        self.gate = nn.Linear(width, hidden, bias=False)
        self.up = nn.Linear(width, hidden, bias=False)
        self.down = nn.Linear(hidden, width, bias=False)

    def forward(self, x):
        return self.down(silu(self.gate(x)) * self.up(x))


class Block(nn.Module):
    def __init__(self, config, layer, way):
        super().__init__()
        self.attention_norm = nn.RMSNorm(config['width'], eps=1e-5)
        self.attention = Attention(config, layer, way)
        self.mlp_norm = nn.RMSNorm(config['width'], eps=1e-5)
        self.mlp = Mlp(config['width'], config['hidden'])

    def forward(self, x):
        x = x + self.attention(self.attention_norm(x))
        return x + self.mlp(self.mlp_norm(x))


class TinyLm(nn.Module):
    def __init__(self, config, way='plain'):
        super().__init__()
        self.embedding = nn.Embedding(config['symbols'], config['width'])
        self.layers = nn.ModuleList(Block(config, i, way) for i in range(config['layers']))
        self.norm = nn.RMSNorm(config['width'], eps=1e-5)
        self.head = nn.Linear(config['width'], config['symbols'], bias=False)
        if config['tied']:
            self.head.weight = self.embedding.weight

    def forward(self, ids):
        """[B, T] -> [B, T, symbols]"""
        x = self.embedding(ids)
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x))


def load(path, way='plain'):
    """A model from a file of tiny_lm; every weight must find its place."""
    with safe_open(path, 'pt') as file:
        config = json.loads(file.metadata()['config'])
        weights = {name: file.get_tensor(name) for name in file.keys()
                   if not name.startswith('adamw.')}
    model = TinyLm(config, way).to(weights['norm.weight'].dtype)
    if config['tied']:
        weights['head.weight'] = weights['embedding.weight']
    model.load_state_dict(weights)
    return model


def trainer(model, ids, targets, rate, compiled=False):
    """A function that does a step of training on one batch and returns the loss before it."""
    matrices = [p for p in model.parameters() if p.ndim >= 2]
    vectors = [p for p in model.parameters() if p.ndim < 2]
    groups = [{'params': matrices, 'weight_decay': 0.1}, {'params': vectors, 'weight_decay': 0}]
    adamw = torch.optim.AdamW(groups, lr=rate, betas=(0.9, 0.95), fused=True)

    def loss_of(x, y):
        return cross_entropy(model(x).flatten(0, 1), y.flatten())

    loss_of = torch.compile(loss_of, dynamic=False) if compiled else loss_of

    def step():
        loss = loss_of(ids, targets)
        adamw.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0, foreach=True)
        adamw.step()
        return loss.item()

    return step
