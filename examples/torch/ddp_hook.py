"""Classifies digits with DistributedDataParallel."""
import argparse

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler

import gradsieve.torch as gs
from digits import Digits


def accuracy(model, images, labels):
    with torch.no_grad():
        return (model(images).argmax(1) == labels).float().mean().item()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--epochs', type=int, default=5)
    parser.add_argument('--data', help='the folder of MNIST; else digits are drawn')
    args = parser.parse_args()
    dist.init_process_group('gloo')
    torch.manual_seed(1)
    train_set, test_set = Digits(args.data, train=True), Digits(args.data, train=False)
    sampler = DistributedSampler(train_set)
    loader = DataLoader(train_set, batch_size=32, sampler=sampler)
    net = nn.Sequential(nn.Conv2d(1, 16, 5, stride=2), nn.ReLU(),
                        nn.Conv2d(16, 32, 5, stride=2), nn.ReLU(), nn.Flatten(),
                        nn.Linear(512, 64), nn.ReLU(), nn.Linear(64, 10))
    model = DistributedDataParallel(net)
    model.register_comm_hook(gs.HookState(), gs.hook)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        for images, labels in loader:
            optimizer.zero_grad()
            F.cross_entropy(model(images), labels).backward()
            optimizer.step()
        if dist.get_rank() == 0:
            print('epoch', epoch, 'accuracy', accuracy(net, *test_set.tensors))
            torch.save(net.state_dict(), 'ddp_hook.pt')
    gs.finish()
    dist.destroy_process_group()


if __name__ == '__main__':
    main()
