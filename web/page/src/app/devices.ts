/** The GPUs of `explain --devices`, by names that `--device` accepts. The newest one that most readers can rent comes first. */
export const devices = [
  { id: "h200", name: "H200" },
  { id: "h100", name: "H100" },
  { id: "h100 pcie", name: "H100 PCIe" },
  { id: "b200", name: "B200" },
  { id: "a100", name: "A100" },
  { id: "l40s", name: "L40S" },
  { id: "5090", name: "RTX 5090" },
  { id: "4090", name: "RTX 4090" },
  { id: "3090", name: "RTX 3090" },
  { id: "3060", name: "RTX 3060 Laptop" },
];
