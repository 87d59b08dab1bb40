"""Trains ResNet-20 on CIFAR-10, and can go on from a checkpoint."""
import argparse
import math

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, RandomSampler

from cifar import Cifar10


class Block(nn.Module):

    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.stride, self.more = stride, outputs - inputs

    def forward(self, x):
        y = F.relu(self.bn1(self.conv1(x)))
        y = self.bn2(self.conv2(y))
        # New channels begin as zeros.
        shortcut = x[:, :, ::self.stride, ::self.stride]
        return F.relu(y + F.pad(shortcut, (0, 0, 0, 0, 0, self.more)))


def ResNet20(width):
    layers = [nn.Conv2d(3, width, 3, 1, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU()]
    for outputs, stride in (width, 1), (2 * width, 2), (4 * width, 2):
        layers += [Block(outputs // stride, outputs, stride),
                   Block(outputs, outputs, 1), Block(outputs, outputs, 1)]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                         nn.Linear(4 * width, 10))


def augment(images):
    y, x = torch.randint(9, (2,)).tolist()
    images = F.pad(images, (4, 4, 4, 4))[:, :, y:y + 32, x:x + 32]
    mirrored = torch.rand(len(images), 1, 1, 1) < 0.5
    return torch.where(mirrored, images.flip(3), images)


def train(model, train_set, optimizer, epoch):
    sampler = RandomSampler(train_set)
    model.train()
    for images, labels in DataLoader(train_set, batch_size=64, sampler=sampler):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(augment(images)), labels)
        loss.backward()
        optimizer.step()
    print('epoch', epoch, 'loss', round(loss.item(), 3))


def report(model, test_set, epoch):
    model.eval()
    correct = 0
    with torch.no_grad():
        for images, labels in DataLoader(test_set, 500):
            correct += (model(images).argmax(1) == labels).sum().item()
    print('epoch', epoch, 'accuracy', correct / len(test_set))
    torch.save({'model': model.state_dict(), 'epoch': epoch}, 'resnet20.pt')


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--epochs', type=int, default=10)
    parser.add_argument('--width', type=int, default=16)
    parser.add_argument('--data', help='the folder of CIFAR-10; else images are drawn')
    parser.add_argument('--resume', action='store_true', help='go on from the files')
    args = parser.parse_args()
    torch.manual_seed(1)
    train_set, test_set = Cifar10(args.data, train=True), Cifar10(args.data, train=False)
    model = ResNet20(args.width)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9,
                                weight_decay=1e-4)
    optimizer_file = 'optimizer.pt'
    begin = 0
    if args.resume:
        saved = torch.load('resnet20.pt')
        model.load_state_dict(saved['model'])
        begin = saved['epoch'] + 1
        optimizer.load_state_dict(torch.load(optimizer_file))
    scheduler = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda epoch: 0.5 + 0.5 * math.cos(math.pi * epoch / args.epochs),
        last_epoch=begin - 1)
    for epoch in range(begin, args.epochs):
        train(model, train_set, optimizer, epoch)
        scheduler.step()
        report(model, test_set, epoch)
        torch.save(optimizer.state_dict(), optimizer_file)


if __name__ == '__main__':
    main()
