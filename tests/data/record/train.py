# A training script for tests of `tilescope record`, which replace the words CALL, PREPARE and WORKERS.
import torch
import torch.utils.checkpoint
from torch.utils.data import DataLoader, TensorDataset


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = torch.nn.Linear(8, 8)

    def forward(self, x):
        return torch.relu(self.attention(x))


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList(Block() for _ in range(2))

    def forward(self, x):
        for layer in self.layers:
            x = CALL
        return x.sum()


def main():
    model = Model()
    model = PREPARE
    optimizer = torch.optim.AdamW(model.parameters())
    for (batch,) in DataLoader(TensorDataset(torch.randn(12, 8)), batch_size=4, num_workers=WORKERS):
        optimizer.zero_grad()
        model(batch).backward()
        optimizer.step()
    print("trained")


if __name__ == "__main__":
    main()
