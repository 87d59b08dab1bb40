"""A small GPT that learns the characters of a text, with accumulated gradients."""
import argparse

import torch
import torch.nn.functional as F
from torch import nn

CONTEXT = 32


class Block(nn.Module):

    def __init__(self, width):
        super().__init__()
        self.norm1 = nn.LayerNorm(width)
        self.attention = nn.MultiheadAttention(width, 4, batch_first=True)
        self.norm2 = nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(),
                                 nn.Linear(4 * width, width))

    def forward(self, x):
        later = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).triu(1)
        y = self.norm1(x)
        x = x + self.attention(y, y, y, attn_mask=later, need_weights=False)[0]
        return x + self.mlp(self.norm2(x))


class MiniGpt(nn.Module):

    def __init__(self, vocabulary, width, layers=2):
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, width)
        self.positions = nn.Embedding(CONTEXT, width)
        self.blocks = nn.Sequential(*[Block(width) for _ in range(layers)])
        self.norm = nn.LayerNorm(width)
        self.out = nn.Linear(width, vocabulary, bias=False)
        for table in self.tokens, self.positions:
            nn.init.normal_(table.weight, std=0.02)
        self.out.weight = self.tokens.weight

    def forward(self, text):
        x = self.tokens(text) + self.positions(torch.arange(text.shape[1]))
        return self.out(self.norm(self.blocks(x)))


def draw(text, generator, batch=8):
    begins = torch.randint(len(text) - CONTEXT, (batch,), generator=generator)
    rows = torch.stack([text[b:b + CONTEXT + 1] for b in begins.tolist()])
    return rows[:, :-1], rows[:, 1:]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--text', default=__file__, help='a file; else this script')
    parser.add_argument('--steps', type=int, default=200)
    parser.add_argument('--width', type=int, default=64)
    args = parser.parse_args()
    torch.manual_seed(1)
    with open(args.text) as file:
        characters = file.read()
    alphabet = sorted(set(characters))
    text = torch.tensor([alphabet.index(c) for c in characters])
    model = MiniGpt(len(alphabet), args.width)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    warm_up = torch.optim.lr_scheduler.LinearLR(optimizer, 0.1, total_iters=20)
    generator = torch.Generator().manual_seed(1)
    for step in range(args.steps):
        optimizer.zero_grad()
        for _ in range(2):
            inputs, targets = draw(text, generator)
            with torch.autocast('cpu', torch.bfloat16):
                loss = F.cross_entropy(model(inputs).flatten(0, 1), targets.flatten())
            (loss / 2).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        warm_up.step()
        if step % 20 == 19:
            print('step', step + 1, 'loss', round(loss.item(), 3))
    torch.save(model.state_dict(), 'mini_gpt.pt')


if __name__ == '__main__':
    main()
