"""Classifies digits, in the shape of PyTorch's own example of MNIST."""
import argparse

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, DistributedSampler

import gradsieve.torch as gs
from digits import Digits


class Net(nn.Module):

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, 3)
        self.conv2 = nn.Conv2d(16, 32, 3)
        self.fc1 = nn.Linear(32 * 5 * 5, 64)
        self.fc2 = nn.Linear(64, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        return self.fc2(F.relu(self.fc1(x.flatten(1))))


def train(model, loader, optimizer):
    model.train()
    for images, labels in loader:
        optimizer.zero_grad()
        F.cross_entropy(model(images), labels).backward()
        optimizer.step()


def test(model, loader):
    model.eval()
    correct = 0
    with torch.no_grad():
        for images, labels in loader:
            correct += (model(images).argmax(1) == labels).sum().item()
    return correct / len(loader.dataset)


def report(model, test_set, epoch):
    print('epoch', epoch, 'accuracy', test(model, DataLoader(test_set, 500)))
    torch.save(model.state_dict(), 'mnist.pt')


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--epochs', type=int, default=5)
    parser.add_argument('--data', help='the folder of MNIST; else digits are drawn')
    args = parser.parse_args()
    gs.init()
    torch.manual_seed(1)
    train_set, test_set = Digits(args.data, train=True), Digits(args.data, train=False)
    sampler = DistributedSampler(train_set, gs.size(), gs.rank())
    loader = DataLoader(train_set, batch_size=32, sampler=sampler)
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.03, momentum=0.9)
    optimizer = gs.DistributedOptimizer(optimizer, model)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, args.epochs)
    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        train(model, loader, optimizer)
        scheduler.step()
        with gs.server_weights(model):
            if gs.is_leader():
                report(model, test_set, epoch)
    gs.finish()


if __name__ == '__main__':
    main()
