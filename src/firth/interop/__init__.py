"""Import and export of pretrained models: Hugging Face folders (config.json, safetensors, tokenizer files)."""
