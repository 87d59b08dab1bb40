"""An LSTM that learns which word comes next, in the shape of PyTorch's example."""
import argparse
import math
import random

import torch
import torch.nn.functional as F
from torch import nn

import gradsieve.torch as gs

# A drawn sentence has one word of each.
PARTS = ['the a this', 'old small red new', 'cat dog house tree man',
         'sees likes needs follows', 'it her him', 'today often soon']
STEPS = 35


class WordModel(nn.Module):

    def __init__(self, vocabulary, width, dropout):
        super().__init__()
        self.drop = nn.Dropout(dropout)
        self.embedding = nn.Embedding(vocabulary, width)
        self.rnn = nn.LSTM(width, width, num_layers=2, dropout=dropout)
        self.out = nn.Linear(width, vocabulary)
        nn.init.uniform_(self.embedding.weight, -0.1, 0.1)
        nn.init.zeros_(self.out.bias)
        self.out.weight = self.embedding.weight

    def forward(self, words, hidden=None):
        x, hidden = self.rnn(self.drop(self.embedding(words)), hidden)
        return self.out(self.drop(x)), hidden


def read_words(file):
    if file is None:
        rng = random.Random(1)
        return [rng.choice(part.split()) for _ in range(4000) for part in PARTS]
    with open(file) as opened:
        return opened.read().replace('\n', ' <eos> ').split()


def columns(text, count):
    """Cuts the text into columns: [words, count]."""
    words = len(text) // count
    return text[:words * count].view(count, words).t().contiguous()


def losses(model, text):
    """Yields the loss of each STEPS words in turn; the LSTM remembers those before."""
    hidden = None
    for begin in range(0, len(text) - 1, STEPS):
        targets = text[begin + 1:begin + STEPS + 1]
        output, hidden = model(text[begin:begin + len(targets)], hidden)
        hidden = tuple(h.detach() for h in hidden)
        yield F.cross_entropy(output.flatten(0, 1), targets.flatten())


def train(model, text, optimizer):
    model.train()
    for loss in losses(model, text):
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.25)
        optimizer.step()


def evaluate(model, text):
    model.eval()
    with torch.no_grad():
        found = [loss.item() for loss in losses(model, text)]
    return sum(found) / len(found)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--text', help='a file of words; else sentences are drawn')
    parser.add_argument('--epochs', type=int, default=5)
    parser.add_argument('--width', type=int, default=200)
    parser.add_argument('--dropout', type=float, default=0.2)
    args = parser.parse_args()
    gs.init()
    torch.manual_seed(1)
    words = read_words(args.text)
    numbers = {word: number for number, word in enumerate(sorted(set(words)))}
    text = torch.tensor([numbers[word] for word in words])
    cut = len(text) * 9 // 10
    train_text = columns(text[:cut], 20 * gs.size())[:, gs.rank()::gs.size()]
    valid_text = columns(text[cut:], 10)
    model = WordModel(len(numbers), args.width, args.dropout)
    optimizer = torch.optim.SGD(model.parameters(), lr=20)
    optimizer = gs.DistributedOptimizer(optimizer, model)
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.25,
                                                           patience=0)
    for epoch in range(args.epochs):
        train(model, train_text, optimizer)
        with gs.server_weights(model):
            loss = evaluate(model, valid_text)
            if gs.is_leader():
                print('epoch', epoch, 'perplexity', round(math.exp(loss), 2))
                torch.save(model.state_dict(), 'word_lm.pt')
        scheduler.step(loss)
    gs.finish()


if __name__ == '__main__':
    main()
